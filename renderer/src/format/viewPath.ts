/** An archived object, and optionally the retrieval to show it as. */
export interface ShownObject {
  sha256: string;
  /** The id of its source. */
  source?: string | undefined;
  /** The time of the capture: `original_observed_at` if there is one, else `observed_at`. */
  at?: string | undefined;
}

/** Returns the path of the page that shows an archived object. */
export function viewPath({ sha256, source, at }: ShownObject): string {
  const query = new URLSearchParams({ ...(source && { source }), ...(at && { at }) }).toString();
  return `/view/${sha256}${query && `?${query}`}`;
}

/** Returns the time of a capture: when it was made, or else when this node retrieved it. */
export function captureTime(of: { observed_at: string; original_observed_at: string | null }): string {
  return of.original_observed_at ?? of.observed_at;
}
