/** Media types of research files that browsers do not know, by extension. */
const TYPES: Record<string, string> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  log: 'text/plain',
  md: 'text/markdown',
  rst: 'text/plain',
  json: 'application/json',
  jsonl: 'application/jsonl',
  ndjson: 'application/jsonl',
  geojson: 'application/geo+json',
  ipynb: 'application/x-ipynb+json',
  py: 'text/x-python',
  r: 'text/x-r',
  jl: 'text/x-julia',
  m: 'text/x-matlab',
  sh: 'application/x-sh',
  sql: 'application/sql',
  tex: 'application/x-tex',
  bib: 'application/x-bibtex',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  toml: 'application/toml',
  xml: 'application/xml',
  parquet: 'application/vnd.apache.parquet',
  h5: 'application/x-hdf5',
  hdf5: 'application/x-hdf5',
  nc: 'application/x-netcdf',
  npy: 'application/octet-stream',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  gz: 'application/gzip',
  fasta: 'text/x-fasta',
};

/** The media type to record: by extension first, because that gives the same result on every machine. */
export function mediaTypeOf(path: string, browserType: string): string {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return (
    TYPES[extension] ?? (/^[\w.+-]+\/[\w.+-]+$/.test(browserType) ? browserType : 'application/octet-stream')
  );
}
