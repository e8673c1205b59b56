import { ROUTES } from '../../../shared/routes.ts';
import type { Handlers } from '../app.ts';
import { type DescribedNode, openApiDocument } from '../openapi/document.ts';
import type { OpenApiDocument } from '../openapi/types.ts';
import { okText } from '../reply.ts';

type DescriptionRoutes = 'readOpenapi';

/** The description of the interface, made once: when somebody first asks for it. */
export function descriptionHandlers(node: DescribedNode): Pick<Handlers, DescriptionRoutes> {
  let made: OpenApiDocument | undefined;
  let text: string | undefined;
  const document = () => {
    made ??= openApiDocument(ROUTES, node);
    return made;
  };
  return {
    readOpenapi: () => {
      text ??= JSON.stringify(document());
      return okText(text);
    },
  };
}
