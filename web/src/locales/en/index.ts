/** Every English text: a feature's file name is the first part of its keys. */
import { byFeature, type Messages } from '../byFeature'

export const messages = byFeature(import.meta.glob<Messages>('./*.json', { eager: true, import: 'default' }))
export { enUS as naive, dateEnUS as naiveDates } from 'naive-ui'
