/** The DOI as such, as `doi:` or as the address of a resolver. */
const DOI = /^(?:doi:\s*|https?:\/\/(?:dx\.)?doi\.org\/)?(10\.\d{4,9}\/[^\s\p{Cc}]{1,1000})$/iu;

/** Returns the DOI in a text that is nothing else, as it is written there; undefined if it is none. */
export function writtenDoi(value: string): string | undefined {
  return value.isWellFormed() ? DOI.exec(value.trim())?.[1] : undefined;
}

/**
 * Like `writtenDoi`, in lower case, to compare: DOIs ignore case. What is asked for, shown or recorded is as it was written,
 * because some resolvers and repositories do not ignore it.
 */
export function doiOf(value: string): string | undefined {
  return writtenDoi(value)?.toLowerCase();
}

/** Returns the address at which a DOI is resolved. */
export function doiUrl(doi: string): string {
  return `https://doi.org/${encodeURI(doi)}`;
}
