import { Problem } from '../../../../shared/problems.ts';
import { pathOf } from '../../../../shared/routes/pathOf.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import { readSignposts } from '../../../archive/citations/signposts.ts';
import { createStudy, listStudies, readStudy, setStudyStatus } from '../../../archive/studies/studies.ts';
import { readStudyTable, studyTableCsv } from '../../../archive/studies/studyTable.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { attachmentHeaders, CSV_TYPE } from '../../delivery/streamReply.ts';
import { linkHeader } from '../../delivery/typedLinks.ts';
import { created, ok, page, type Reply } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type StudyRoutes = 'listStudies' | 'createStudy' | 'readStudy' | 'setStudyStatus' | 'readStudyTable';

export function studiesHandlers(store: Store, publicAddress: PublicAddress): Pick<Handlers, StudyRoutes> {
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
  };
}

function csv(text: string, filename: string): Reply {
  return {
    write: (response) =>
      void response.set({ 'Cache-Control': 'no-store', ...attachmentHeaders(CSV_TYPE, filename) }).send(text),
  };
}
