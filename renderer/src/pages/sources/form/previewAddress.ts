import { failureWords } from '../../../../../shared/collection/failureWords.ts';
import type { SourcePreview } from '../../../../../shared/collection/source.ts';

export interface PreviewedAddress {
  /** The address that was fetched, with its scheme. */
  url: string;
  preview: SourcePreview;
  /** What was tried, if the address was entered without a scheme. */
  note: string | undefined;
}

export function hasScheme(address: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(address);
}

/**
 * Fetches an address once. Without a scheme it is tried as https, and as http if no server answers there.
 *
 * @param preview fetches an address with its scheme. @throws what `preview` throws
 */
export async function previewAddress(
  address: string,
  preview: (url: string) => Promise<SourcePreview>,
): Promise<PreviewedAddress> {
  if (hasScheme(address)) return { url: address, preview: await preview(address), note: undefined };
  const secure = { url: `https://${address}`, preview: await preview(`https://${address}`) };
  if (answered(secure.preview))
    return { ...secure, note: 'You entered no scheme: https:// was added, and it answers.' };
  const plain = { url: `http://${address}`, preview: await preview(`http://${address}`) };
  const why = failureWords(secure.preview.error ?? 'invalid_response', secure.preview.status);
  if (answered(plain.preview))
    return { ...plain, note: `You entered no scheme: https:// failed (${why}), http:// answers.` };
  return { ...secure, note: 'You entered no scheme: neither https:// nor http:// answers.' };
}

/** Returns whether a web server answered, whatever it answered. */
function answered({ error, status }: SourcePreview): boolean {
  return error === null || status !== null;
}
