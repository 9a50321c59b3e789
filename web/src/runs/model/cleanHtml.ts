/** The last door before HTML is shown: whatever made it, only known tags, attributes and addresses pass. */
import DOMPurify from 'dompurify'
import { SAFE_URL } from './markdown'

const TAGS = ['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'strong', 'em', 's', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td']

export function cleanHtml(html: string): string {
  return DOMPurify.sanitize(html, { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ['href', 'start', 'rel', 'target'], ALLOWED_URI_REGEXP: SAFE_URL, ADD_URI_SAFE_ATTR: ['start', 'rel', 'target'], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false })
}
