import { pathOf } from '../../../../shared/routes/route.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import type { Drafts } from '../../../archive/drafts/drafts.ts';
import { packTooLarge } from '../../../archive/packs/packRows.ts';
import type { Handlers } from '../../app.ts';
import { requireMediaType } from '../../body/readJson.ts';
import { checkedBodyChunks } from '../../body/requestBody.ts';
import { created, createdText, noContent, ok, okText, page } from '../../reply.ts';

type DraftRoutes =
  | 'listDrafts'
  | 'createDraft'
  | 'readDraft'
  | 'changeDraft'
  | 'deleteDraft'
  | 'putDraftFile'
  | 'changeDraftFiles'
  | 'publishDraft';

/** Handlers for drafts of packs. */
export function draftHandlers(drafts: Drafts): Pick<Handlers, DraftRoutes> {
  return {
    listDrafts: ({ query, request }) => page(request, query, drafts.list(query)),
    createDraft: async ({ body }) => {
      const { draft, isNew } = await drafts.create(body);
      if (!isNew) return ok(draft);
      return created(draft, pathOf(ROUTES.readDraft.path, { id: draft.id }));
    },
    readDraft: async ({ params: { id = '' } }) => ok(await drafts.read(id)),
    changeDraft: async ({ params: { id = '' }, body }) => ok(await drafts.change(id, body)),
    deleteDraft: async ({ params: { id = '' } }) => {
      await drafts.remove(id);
      return noContent;
    },
    putDraftFile: async ({ params: { id = '' }, query, request }) => {
      requireMediaType(request, ROUTES.putDraftFile.body.mediaTypes);
      const chunks = checkedBodyChunks(request, drafts.maxFileBytes, packTooLarge);
      return ok(await drafts.putFile(id, query, chunks));
    },
    changeDraftFiles: async ({ params: { id = '' }, body }) => ok(await drafts.changeFiles(id, body)),
    publishDraft: async ({ params: { id = '' }, query: { revision }, admitted }) => {
      const { id: pack, created: isNew, text } = await drafts.publish(id, revision, admitted);
      return isNew ? createdText(text, pathOf(ROUTES.readPack.path, { id: pack })) : okText(text);
    },
  };
}
