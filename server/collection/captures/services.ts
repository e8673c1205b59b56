import type { Settings } from '../../../shared/node/settings.ts';
import type { Store } from '../../store/store.ts';
import type { FetchServices } from '../fetch/attempt.ts';
import type { ObjectReceiver } from '../record/objectReceiver.ts';

/** Dependencies of the import of a WARC file. */
export interface WarcServices {
  store: Store;
  receiver: ObjectReceiver;
  settings: () => Settings;
}

/** Dependencies of the import from a Memento archive. */
export interface MementoServices extends WarcServices {
  fetching: FetchServices;
}
