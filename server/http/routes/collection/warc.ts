import { type Exporter, exportWarc } from '../../../collection/captures/warcExport/exportWarc.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import type { Exports } from '../../delivery/exports.ts';
import { attachmentHeaders } from '../../delivery/streamReply.ts';

/** Handlers for WARC export. */
export function warcHandlers(
  store: Store,
  exporter: Exporter,
  exports: Exports,
): Pick<Handlers, 'exportWarc'> {
  return {
    exportWarc: ({ query }) => {
      const { filename, bytes } = exportWarc(store, exporter, query);
      return exports.streamReply(attachmentHeaders('application/warc', filename), bytes);
    },
  };
}
