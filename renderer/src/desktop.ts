/** What the desktop app's preload script puts on the window. In a plain browser there is none of it. */
export interface DesktopApi {
  platform: string;
  version: string;
}

declare global {
  interface Window {
    strongroomDesktop?: DesktopApi;
  }
}

/** The desktop around this page, or undefined in a plain browser: the only place that asks. */
export function desktop(): DesktopApi | undefined {
  return window.strongroomDesktop;
}
