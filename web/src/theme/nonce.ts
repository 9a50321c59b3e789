/**
 * Gives every style element that a library makes the nonce of this page. Imported before anything else.
 *
 * Naive UI writes `<style>` elements and has no setting for a nonce; without one the content security
 * policy leaves them out and the page is unstyled.
 */
export const cspNonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''

const createElement = document.createElement.bind(document)

document.createElement = function create(name: string, options?: ElementCreationOptions): HTMLElement {
  const element = createElement(name, options)
  if (element instanceof HTMLStyleElement) element.nonce = cspNonce
  return element
} as typeof document.createElement
