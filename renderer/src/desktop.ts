import type { DesktopApi } from '../../shared/node/owner.ts';

declare global {
  interface Window {
    strongroomDesktop?: DesktopApi;
  }
}

/** The desktop app's API, or undefined in a plain browser. The only access to it. */
export function desktop(): DesktopApi | undefined {
  return window.strongroomDesktop;
}
