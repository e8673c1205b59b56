import type { Handlers } from '../app.ts';
import { type Description, describe } from '../docs/describe.ts';
import { escapeHtml } from '../docs/html.ts';
import type { DescribedNode } from '../openapi/document.ts';
import { okText } from '../reply.ts';
import type { PublicAddress } from '../security/publicAddress.ts';

type DescriptionRoutes = 'readOpenapi' | 'readDocs';

/** The page has no script, fetches nothing and is framed by nobody; its one style is within it. */
const DOCS_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Stands for the node's address in the page until it is known who asks. */
const ORIGIN = 'http://this-node.invalid';

/** The description of the interface, made once: when somebody first asks for it. */
export function descriptionHandlers(
  node: DescribedNode,
  publicAddress: PublicAddress,
): Pick<Handlers, DescriptionRoutes> {
  let made: Promise<Description> | undefined;
  const description = () => {
    made ??= describe({ node, origin: ORIGIN }).catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
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
