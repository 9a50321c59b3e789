/** Every sentence of the server in Chinese: `zh-CN.json`, which a test of the back end holds against the source. */
import { translator, type Catalog } from '@/api/serverText'
import catalog from './zh-CN.json'

export const translate = translator(catalog satisfies Catalog)
