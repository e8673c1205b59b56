import { createHash } from 'node:crypto';
import { interfaceMissing } from './renderer.ts';

/** What every policy of an archived page says: it may load nothing, because everything that it shows is in it. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  'media-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

/** Where a made page says its encoding, first in its head. Nothing else in it can look like this: `<` is escaped there. */
const HEAD = Buffer.from('<meta charset="utf-8">');
const START = Buffer.from('<script>');
const END = Buffer.from('</script>');

/**
 * Puts the script that lets a person choose an element into an archived page. The page has no scripts of its own. If it
 * had, the policy would allow the node's script only, by its hash, in a sandbox with an origin of its own and no way to
 * navigate.
 *
 * @param html a page as `makePage` returns it
 * @param script undefined if the interface was not built
 * @throws Problem `interface_missing`
 */
export function choosingPage(html: Uint8Array, script: Buffer | undefined): { html: Buffer; policy: string } {
  if (!script) throw interfaceMissing('Then choose again.');
  const hash = createHash('sha256').update(script).digest('base64');
  const page = Buffer.from(html);
  const at = page.indexOf(HEAD) + HEAD.length;
  return {
    html: Buffer.concat([page.subarray(0, at), START, script, END, page.subarray(at)]),
    policy: `${PAGE_POLICY}; script-src 'sha256-${hash}'; sandbox allow-scripts`,
  };
}
