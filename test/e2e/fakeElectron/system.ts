import { EventEmitter } from 'node:events';
import { host } from './app.ts';

/** Every question is answered with “Cancel”. A test replaces the functions, as it would in Electron. */
export const dialog = {
  showMessageBox: async () => ({ response: 1, checkboxChecked: false }),
  /** Cancelled, unless a test replaces it. */
  showOpenDialog: async (): Promise<{ canceled: boolean; filePaths: string[] }> => ({
    canceled: true,
    filePaths: [],
  }),
  showErrorBox: (title: string, content: string) => void host.call('errorBox', title, content),
};

export const shell = {
  openExternal: async (_url: string): Promise<void> => undefined,
  showItemInFolder: (_path: string): void => undefined,
  openPath: async (_path: string): Promise<string> => '',
};

export const screen = {
  getDisplayMatching: () => ({ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }),
  getPrimaryDisplay: () => ({ scaleFactor: 1, colorSpace: '{}', colorDepth: 24 }),
};

interface FrameDetails {
  isMainFrame: boolean;
}
type PermissionRequest = (
  contents: null,
  permission: string,
  callback: (granted: boolean) => void,
  details: FrameDetails,
) => void;
type PermissionCheck = (contents: null, permission: string, origin: string, details: FrameDetails) => boolean;

interface ProxyConfig {
  proxyRules: string;
  proxyBypassRules: string;
}

export class Session extends EventEmitter {
  /** How often the session was emptied; for the tests. */
  cleared = 0;
  proxy: ProxyConfig | undefined;
  #request: PermissionRequest = (_contents, _permission, callback) => callback(true);
  #check: PermissionCheck = () => true;

  setPermissionRequestHandler(handler: PermissionRequest): void {
    this.#request = handler;
  }
  setPermissionCheckHandler(handler: PermissionCheck): void {
    this.#check = handler;
  }
  setDevicePermissionHandler(_handler: () => boolean): void {}
  setProxy = async (proxy: ProxyConfig): Promise<void> => {
    this.proxy = proxy;
  };
  closeAllConnections = async (): Promise<void> => undefined;
  clearData = async (): Promise<void> => {
    this.cleared += 1;
  };
  clearStorageData = async (): Promise<void> => undefined;
  clearAuthCache = async (): Promise<void> => undefined;
  clearHostResolverCache = async (): Promise<void> => undefined;

  /** Returns whether both handlers grant a permission to the main frame, or to another one. */
  grants(permission: string, isMainFrame = true): Promise<boolean> {
    if (!this.#check(null, permission, '', { isMainFrame })) return Promise.resolve(false);
    return new Promise((resolve) => this.#request(null, permission, resolve, { isMainFrame }));
  }
}

const partitions = new Map<string, Session>();
export const session = {
  defaultSession: new Session(),
  /** The sessions that were made; Electron has no such list. */
  partitions,
  fromPartition: (name: string): Session => {
    const known = partitions.get(name) ?? new Session();
    partitions.set(name, known);
    return known;
  },
};

/** A test emits `suspend` and `resume`. */
export const powerMonitor = new EventEmitter();
