import type { Settings } from '../../../shared/settings.ts';
import type { Store } from '../../store/store.ts';
import type { FetchServices } from '../fetch/attempt.ts';
import type { ObjectReceiver } from '../record/objectReceiver.ts';

/** What the import of a WARC file works with. */
export interface WarcServices {
  store: Store;
  receiver: ObjectReceiver;
  settings: () => Settings;
}

/** What the import from an archive that speaks Memento works with. */
export interface MementoServices extends WarcServices {
  fetching: FetchServices;
}
