import { Button, FileButton } from '@mantine/core';
import { IconFilePlus, IconFolderPlus } from '@tabler/icons-react';
import { useRef } from 'react';
import { VirtualList } from '../../../components/data/VirtualList.tsx';
import { useAssembly } from '../assembly.ts';
import { FormSection } from '../sections/FormSection.tsx';
import { BringFiles } from './BringFiles.tsx';
import { type DraftFile, useDraftFiles } from './draftFiles.ts';
import { FileRow } from './FileRow.tsx';
import classes from './FilesSection.module.css';
import { readChosen } from './readDropped.ts';

/** The files of the pack: dropped, chosen, named anew, taken out. */
export function FilesSection() {
  const { draft, errorOf } = useAssembly();
  const { files, note, add, remove, rename } = useDraftFiles();
  const folder = commonFolder(files);
  const forgetChosen = useRef<() => void>(null);
  const addChosen = (chosen: File[]) => {
    add(chosen.map((file) => ({ path: file.name, file })));
    // A file that is taken out and chosen again would be no change to the browser.
    forgetChosen.current?.();
  };
  const choose = (
    <div className={classes.buttons}>
      <FileButton multiple resetRef={forgetChosen} onChange={addChosen}>
        {(props) => (
          <Button {...props} variant="default" leftSection={<IconFilePlus size={17} aria-hidden />}>
            Add files
          </Button>
        )}
      </FileButton>
      <FolderButton />
    </div>
  );
  return (
    <FormSection
      title="Files"
      hint="The data, the code, whatever shows the result. They are kept byte for byte, under the paths below."
      field="field/files"
      error={errorOf('field/files')}
      actions={files.length > 0 && choose}
    >
      {files.length === 0 ? (
        <div className={classes.empty}>
          <p className={classes.drop}>Drop files and folders anywhere on this page</p>
          {choose}
        </div>
      ) : (
        <VirtualList
          label="Files of the pack"
          items={files}
          keyOf={(file) => file.id}
          render={(file) => (
            <FileRow
              file={file}
              onRename={(path) => rename(new Map([[file.id, path]]))}
              onRemove={() => remove([file.id])}
            />
          )}
        />
      )}
      <div className={classes.more}>
        {draft.supersedes && <BringFiles from={draft.supersedes} />}
        {folder && (
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => rename(new Map(files.map(({ id, path }) => [id, path.slice(folder.length)])))}
          >
            Leave out the leading folder {folder}
          </Button>
        )}
        {files.length > 1 && (
          <Button variant="subtle" size="compact-sm" onClick={() => remove(files.map(({ id }) => id))}>
            Take all out
          </Button>
        )}
      </div>
      {note && <output className="muted small">{note}</output>}
    </FormSection>
  );
}

/** The folder, with its slash, that all of the files lie in. */
function commonFolder(files: readonly DraftFile[]): string | undefined {
  const first = files[0]?.path ?? '';
  const folder = first.slice(0, first.indexOf('/') + 1);
  return folder && files.every(({ path }) => path.startsWith(folder) && path.length > folder.length)
    ? folder
    : undefined;
}

function FolderButton() {
  const add = useDraftFiles((state) => state.add);
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="A folder"
        {...{ webkitdirectory: '' }}
        onChange={(event) => {
          add(readChosen(event.currentTarget.files));
          event.currentTarget.value = '';
        }}
      />
      <Button
        variant="default"
        leftSection={<IconFolderPlus size={17} aria-hidden />}
        onClick={() => input.current?.click()}
      >
        Add a folder
      </Button>
    </>
  );
}
