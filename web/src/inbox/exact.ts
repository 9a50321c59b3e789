/** JSON as it will be sent, for a person who is to allow it: whole, and with nothing in it that is not seen. Pure. */
import { writeJson } from '@/api/json'

/** Signs that take no room or turn the direction of writing: what they hide is spelled out. */
const UNSEEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\udb40][\udc00-\udfff]/g

const spelled = (sign: string) => [...Array(sign.length).keys()].map(at => `\\u${sign.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')

export function exactJson(value: unknown): string {
  return (writeJson(value, 2) || 'null').replace(UNSEEN, spelled)
}
