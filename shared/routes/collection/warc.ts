import { warcQuery } from '../../collection/warc.ts';
import { route } from '../route.ts';

export const warcRoutes = {
  exportWarc: route({
    method: 'GET',
    path: '/api/warc',
    access: 'read',
    tag: 'Objects',
    summary: 'Export the retrievals of one source or of all sources as a WARC/1.1 file',
    description:
      'A consistent snapshot. `since` and `until` limit it by `observed_at`. With `gzip=true` each record is compressed separately. The same retrievals always give the same bytes.',
    query: warcQuery,
    responses: { 200: { description: 'The WARC file', mediaTypes: ['application/warc'] } },
    problems: ['not_found', 'storage_failed', 'busy', 'copy_unreachable'],
  }),
};
