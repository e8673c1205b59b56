/** A file with its path inside what was dropped or chosen. */
export interface PathFile {
  path: string;
  file: File;
}

/**
 * Every file of a drop, folders read to their depths. The entries must be asked for before the event is over, so this
 * starts at once.
 */
export async function readDropped(transfer: DataTransfer): Promise<PathFile[]> {
  const entries = [...transfer.items]
    .filter((item) => item.kind === 'file')
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found: PathFile[] = [];
  for (const { entry, file } of entries) {
    if (entry) await readEntry(entry, '', found);
    else if (file) found.push({ path: file.name, file });
  }
  return found;
}

async function readEntry(entry: FileSystemEntry, folder: string, found: PathFile[]): Promise<void> {
  const path = folder + entry.name;
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    found.push({ path, file });
    return;
  }
  if (!isDirectory(entry)) return;
  const reader = entry.createReader();
  for (;;) {
    // A reader gives at most a hundred entries at a time; the empty answer is the end.
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (batch.length === 0) return;
    for (const child of batch) await readEntry(child, `${path}/`, found);
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isDirectory(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}

/** What a file picker gave; a folder's files bring their path with them. */
export function readChosen(files: FileList | null): PathFile[] {
  return [...(files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** What operating systems leave in folders and nobody means to publish. */
export function isSystemFile(path: string): boolean {
  const name = path.split('/').at(-1) ?? '';
  return (
    /^(\.DS_Store|Thumbs\.db|ehthumbs\.db|desktop\.ini|\.localized)$/i.test(name) ||
    name.startsWith('._') ||
    path.startsWith('__MACOSX/')
  );
}
