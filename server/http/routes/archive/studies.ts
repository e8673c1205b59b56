import { Problem } from '../../../../shared/problems.ts';
import { pathOf } from '../../../../shared/routes/route.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import { addComment, listComments } from '../../../archive/comments.ts';
import {
  createStudy,
  createTreeNode,
  listStudies,
  readStudy,
  readStudyTable,
  readTree,
  readTreeNode,
  setStudyStatus,
  studyTableCsv,
} from '../../../archive/studies.ts';
import { readSignposts } from '../../../citations/signposts.ts';
import { packDrift, studyDrift } from '../../../drift/drift.ts';
import type { ReadStore, Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { attachmentHeaders, CSV_TYPE } from '../../delivery/exports.ts';
import { linkHeader } from '../../delivery/itemPages.ts';
import { created, ok, okText, page, type Reply, withList } from '../../reply.ts';
import type { PublicAddress } from '../../security/addresses.ts';

export function studiesHandlers(store: Store, publicAddress: PublicAddress) {
  return {
    listStudies: ({ query, request }) => page(request, query, listStudies(store, query)),
    createStudy: async ({ body, admitted }) => {
      const study = await createStudy(admitted.store, body);
      return created(study, pathOf(ROUTES.readStudy.path, { id: study.id }));
    },
    readStudy: ({ params: { id = '' }, request }) => ({
      ...ok(readStudy(store, id)),
      headers: { Link: linkHeader(readSignposts(store, id, publicAddress.originOf(request))) },
    }),
    setStudyStatus: async ({ params, body }) => ok(await setStudyStatus(store, params.id ?? '', body)),
    readStudyTable: ({ params, query: { format } }) => {
      if (format !== undefined && format !== 'csv') {
        throw new Problem('invalid_format', 'Set format to csv, or omit it to get JSON.');
      }
      const table = readStudyTable(store, params.id ?? '');
      return format === undefined ? ok(table) : csv(studyTableCsv(table), `study-${table.study}.csv`);
    },
  } satisfies Partial<Handlers>;
}

function csv(text: string, filename: string): Reply {
  return {
    write: (response) =>
      void response.set({ 'Cache-Control': 'no-store', ...attachmentHeaders(CSV_TYPE, filename) }).send(text),
  };
}

export function nodesHandlers(store: ReadStore) {
  return {
    readTree: () => ok({ nodes: readTree(store) }),
    createNode: async ({ body, admitted }) => {
      const node = await createTreeNode(admitted.store, body);
      return created(node, pathOf(ROUTES.readNode.path, { path: node.path }));
    },
    readNode: ({ params }) => {
      const { page, packs } = readTreeNode(store, params.path ?? '');
      return okText(withList(page, 'packs', packs));
    },
  } satisfies Partial<Handlers>;
}

/** The handlers for what became of the works that packs relate to. */
export function driftHandlers(store: Store) {
  return {
    readPackDrift: ({ params: { id = '' } }) => ok(packDrift(store, id)),
    readStudyDrift: async ({ params: { id = '' } }) => ok(await studyDrift(store, id)),
  } satisfies Partial<Handlers>;
}

export function commentsHandlers(store: ReadStore) {
  return {
    listComments: ({ params, query, request }) =>
      page(request, query, listComments(store, params.id ?? '', query)),
    addComment: async ({ params, body, admitted }) => {
      const comment = await addComment(admitted.store, params.id ?? '', body);
      return created(comment, pathOf(ROUTES.listComments.path, { id: comment.item }));
    },
  } satisfies Partial<Handlers>;
}
