import { warcQuery } from '../warc.ts';
import { route } from './route.ts';

export const warcRoutes = {
  exportWarc: route({
    method: 'GET',
    path: '/api/warc',
    access: 'read',
    tag: 'Objects',
    summary: 'Every attempt on a source, or on all, as a WARC/1.1 file',
    description:
      'Of one instant, within a span of `observed_at`. With `gzip` each record is packed by itself. The same attempts give the same bytes.',
    query: warcQuery,
    answers: { 200: { description: 'The file', mediaTypes: ['application/warc'] } },
    problems: ['not_found', 'storage_failed', 'busy'],
  }),
};
