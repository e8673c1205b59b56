/** The interfaces of extensions that are used here. Firefox has them under the same name. */
declare global {
  namespace chrome {
    interface Listeners<Listener extends (...values: never[]) => unknown> {
      addListener(listener: Listener): void;
    }

    interface Tab {
      id?: number;
      windowId: number;
      url?: string;
      active: boolean;
    }

    interface Port {
      name: string;
      sender?: { url?: string };
      postMessage(message: unknown): void;
      onMessage: Listeners<(message: unknown) => void>;
      onDisconnect: Listeners<() => void>;
    }

    const runtime: {
      getURL(path: string): string;
      connect(options: { name: string }): Port;
      openOptionsPage(): Promise<void>;
      onConnect: Listeners<(port: Port) => void>;
      onInstalled: Listeners<() => void>;
      onStartup: Listeners<() => void>;
    };

    const action: {
      setBadgeText(options: { text: string }): Promise<void>;
      setBadgeBackgroundColor(options: { color: string }): Promise<void>;
      setTitle(options: { title: string }): Promise<void>;
    };

    const alarms: {
      create(name: string, options: { periodInMinutes: number }): Promise<void>;
      clear(name: string): Promise<boolean>;
      onAlarm: Listeners<(alarm: { name: string }) => void>;
    };

    const contextMenus: {
      removeAll(): Promise<void>;
      create(options: { id: string; title: string; contexts: string[]; targetUrlPatterns?: string[] }): void;
      onClicked: Listeners<(info: { menuItemId: string | number; linkUrl?: string }, tab?: Tab) => void>;
    };

    /** Firefox has no `pageCapture`, and none is there until the person allows it. */
    const pageCapture: { saveAsMHTML(options: { tabId: number }): Promise<Blob | undefined> } | undefined;

    const permissions: {
      contains(asked: { permissions: string[] }): Promise<boolean>;
      request(asked: { permissions: string[] }): Promise<boolean>;
      remove(asked: { permissions: string[] }): Promise<boolean>;
    };

    const scripting: {
      executeScript<Args extends unknown[], Result>(
        options: { target: { tabId: number } } & (
          | { files: string[] }
          | { func: (...args: Args) => Result; args: Args }
        ),
      ): Promise<{ result?: Awaited<Result> }[]>;
    };

    const storage: {
      local: {
        get(key: string): Promise<Record<string, unknown>>;
        set(values: Record<string, unknown>): Promise<void>;
        remove(key: string): Promise<void>;
        setAccessLevel?(options: { accessLevel: 'TRUSTED_CONTEXTS' }): Promise<void>;
      };
    };

    const tabs: {
      query(options: { active: boolean; currentWindow: boolean }): Promise<Tab[]>;
      get(tabId: number): Promise<Tab>;
      captureVisibleTab(windowId: number, options: { format: 'png' }): Promise<string>;
    };

    const dom: { openOrClosedShadowRoot(element: Element): ShadowRoot | null } | undefined;
  }
}

export {};
