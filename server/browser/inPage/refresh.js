/*
 * Run in a world of their own in a frame, as those in read.js are, and sent to the browser as text like them.
 */

/**
 * Takes back the refresh that a document has begun to wait for (`<meta http-equiv="refresh">`, or the header): an earlier one
 * takes its place, and the address of this one is one that no page may go to, which has no effect at all. To stop the
 * document instead would end what it loads.
 */
export function cancelRefresh() {
  const root = Reflect.get(Document.prototype, 'documentElement', document);
  if (!root) return;
  const meta = Document.prototype.createElementNS.call(document, 'http://www.w3.org/1999/xhtml', 'meta');
  meta.setAttribute('http-equiv', 'refresh');
  meta.setAttribute('content', '0;url=file:///');
  Element.prototype.append.call(root, meta);
  meta.remove();
}

/**
 * Goes to the address of a refresh.
 *
 * @param {string} url
 */
export function followRefresh(url) {
  const withoutFragment = (/** @type {string} */ address) => address.replace(/#.*/s, '');
  if (withoutFragment(url) === withoutFragment(location.href)) location.reload();
  else location.replace(url);
}
