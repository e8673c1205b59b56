/** A file with its path inside the dropped or chosen folder. */
export interface PathFile {
  path: string;
  file: File;
}

/**
 * All files of a drop, with folders read recursively. Must be called before the drop event ends, because the
 * entries expire with it.
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
  if (isFile(entry)) found.push({ path, file: await fileOf(entry) });
  if (!isDirectory(entry)) return;
  const reader = entry.createReader();
  for (;;) {
    // A reader returns at most a hundred entries per call. An empty result marks the end.
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (batch.length === 0) return;
    // The browser answers for each file in another process, so all are asked for at once.
    const files = await Promise.all(batch.map(async (child) => (isFile(child) ? fileOf(child) : undefined)));
    for (const [index, child] of batch.entries()) {
      const file = files[index];
      if (file) found.push({ path: `${path}/${child.name}`, file });
      else await readEntry(child, `${path}/`, found);
    }
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isDirectory(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}

/** Files from a file picker. Files of a chosen folder include their path. */
export function readChosen(files: FileList | null): PathFile[] {
  return [...(files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** Files that operating systems add to folders, such as .DS_Store. */
export function isSystemFile(path: string): boolean {
  const name = path.split('/').at(-1) ?? '';
  return (
    /^(\.DS_Store|Thumbs\.db|ehthumbs\.db|desktop\.ini|\.localized)$/i.test(name) ||
    name.startsWith('._') ||
    path.startsWith('__MACOSX/')
  );
}
