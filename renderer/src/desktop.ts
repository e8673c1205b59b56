import type { DesktopApi } from '../../shared/desktop.ts';

declare global {
  interface Window {
    strongroomDesktop?: DesktopApi;
  }
}

/** The desktop around this page, or undefined in a plain browser: the only place that asks. */
export function desktop(): DesktopApi | undefined {
  return window.strongroomDesktop;
}
