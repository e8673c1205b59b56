import { pathOf } from '../../../../shared/routes/pathOf.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import { addComment, listComments } from '../../../archive/comments/comments.ts';
import type { ReadStore } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { created, page } from '../../reply.ts';

export function commentsHandlers(store: ReadStore): Pick<Handlers, 'listComments' | 'addComment'> {
  return {
    listComments: ({ params, query, request }) =>
      page(request, query, listComments(store, params.id ?? '', query)),
    addComment: async ({ params, body, admitted }) => {
      const comment = await addComment(admitted.store, params.id ?? '', body);
      return created(comment, pathOf(ROUTES.listComments.path, { id: comment.item }));
    },
  };
}
