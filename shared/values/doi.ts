/** The DOI as such, as `doi:` or as the address of a resolver. */
const DOI = /^(?:doi:\s*|https?:\/\/(?:dx\.)?doi\.org\/)?(10\.\d{4,9}\/[^\s\p{Cc}]{1,1000})$/iu;

/** Returns the DOI in a text that is nothing else, in lower case (DOIs ignore case); undefined if it is none. */
export function doiOf(value: string): string | undefined {
  return DOI.exec(value.trim())?.[1]?.toLowerCase();
}
