import { ROUTES } from '../../../shared/routes.ts';
import type { Handlers } from '../app.ts';
import { escapeHtml } from '../docs/html.ts';
import { docsPage } from '../docs/page.ts';
import { type DescribedNode, openApiDocument } from '../openapi/document.ts';
import type { OpenApiDocument } from '../openapi/types.ts';
import { okText } from '../reply.ts';

type DescriptionRoutes = 'readOpenapi' | 'readDocs';

/** The page has no script, fetches nothing and is framed by nobody; its one style is within it. */
const DOCS_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Stands for the node's address in the page until it is known who asks. */
const ORIGIN = 'http://this-node.invalid';

/** The description of the interface, made once: when somebody first asks for it. */
export function descriptionHandlers(node: DescribedNode): Pick<Handlers, DescriptionRoutes> {
  let made: OpenApiDocument | undefined;
  let text: string | undefined;
  let page: string | undefined;
  const document = () => {
    made ??= openApiDocument(ROUTES, node);
    return made;
  };
  return {
    readOpenapi: () => {
      text ??= JSON.stringify(document());
      return okText(text);
    },
    readDocs: ({ request }) => {
      page ??= docsPage(document(), ORIGIN);
      const shown = page.replaceAll(ORIGIN, escapeHtml(`http://${request.headers.host}`));
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
