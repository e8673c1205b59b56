import { type Exporter, exportWarc } from '../../collection/warc/exportWarc.ts';
import type { Store } from '../../store/store.ts';
import type { Handlers } from '../app.ts';
import { asFile, streamed } from '../streamed.ts';

/** What was collected as a WARC file. */
export function warcHandlers(store: Store, exporter: Exporter): Pick<Handlers, 'exportWarc'> {
  return {
    exportWarc: ({ query }) => {
      const { filename, bytes } = exportWarc(store, exporter, query);
      return streamed(asFile('application/warc', filename), bytes);
    },
  };
}
