import { escapeHtml } from '../../../html.ts';
import type { Handlers } from '../../app.ts';
import { type Description, describe } from '../../docs/describe.ts';
import type { DescribedNode } from '../../openapi/document.ts';
import { okText } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type DescriptionRoutes = 'readOpenapi' | 'readDocs';

/** The page has one inline style, no scripts and no external resources, and must not be framed. */
const DOCS_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** A placeholder for the node's URL in the cached page. */
const ORIGIN = 'http://this-node.invalid';

/** Handlers for the documentation of the API, which is generated at the first request. */
export function descriptionHandlers(
  node: DescribedNode,
  publicAddress: PublicAddress,
): Pick<Handlers, DescriptionRoutes> {
  let cached: Promise<Description> | undefined;
  const description = () => {
    cached ??= describe({ node, origin: ORIGIN }).catch((error: unknown) => {
      cached = undefined;
      throw error;
    });
    return cached;
  };
  return {
    readOpenapi: async () => okText((await description()).openapi),
    readDocs: async ({ request }) => {
      const { page } = await description();
      const shown = page.replaceAll(ORIGIN, escapeHtml(publicAddress.originOf(request)));
      return {
        write: (response) =>
          void response
            .set({ 'Content-Security-Policy': DOCS_POLICY, 'Cache-Control': 'no-store' })
            .type('text/html')
            .send(shown),
      };
    },
  };
}
