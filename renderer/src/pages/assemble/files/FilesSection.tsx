import { Button, FileButton } from '@mantine/core';
import { IconFilePlus, IconFolderPlus } from '@tabler/icons-react';
import { useRef } from 'react';
import { countOf } from '../../../format/size.ts';
import { usePackForm } from '../formContext.ts';
import { FormSection } from '../sections/FormSection.tsx';
import { addToDraft } from './addToDraft.ts';
import { DraftFileTree } from './DraftFileTree.tsx';
import type { DraftFile } from './draftFile.ts';
import { useDraftFiles } from './draftFiles.ts';
import classes from './FilesSection.module.css';
import { ReuseFiles, usePreviousFiles } from './ReuseFiles.tsx';
import { readChosen } from './readDropped.ts';

/** The files of the pack: add, rename and remove. */
export function FilesSection() {
  const { draft, errorOf } = usePackForm();
  const { files, previous, untouched, note, remove, rename } = useDraftFiles();
  const previousError = usePreviousFiles(draft.supersedes);
  const folder = commonFolder(files);
  return (
    <FormSection
      title="Files"
      hint="Data, code and anything else that supports the result. Files are stored byte for byte under the paths below."
      field="field/files"
      error={errorOf('field/files')}
      actions={files.length > 0 && <AddButtons />}
    >
      {files.length === 0 && (
        <div className={classes.empty}>
          <p className={classes.drop}>Drop files and folders anywhere in this window</p>
          <AddButtons />
        </div>
      )}
      {(files.length > 0 || previous.length > 0) && <DraftFileTree />}
      <div className={classes.more}>
        {draft.supersedes && <ReuseFiles error={previousError} />}
        {untouched.length > 0 && (
          <Button variant="default" onClick={() => remove(untouched)}>
            Remove {countOf(untouched.length, 'file')} that the dropped folder does not have
          </Button>
        )}
        {folder && (
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => rename(new Map(files.map(({ id, path }) => [id, path.slice(folder.length)])))}
          >
            Remove the top folder {folder}
          </Button>
        )}
        {files.length > 1 && (
          <Button variant="subtle" size="compact-sm" onClick={() => remove(files.map(({ id }) => id))}>
            Remove all
          </Button>
        )}
      </div>
      {note && <output className="muted small">{note}</output>}
    </FormSection>
  );
}

/** The top folder that contains all files, with its slash. */
function commonFolder(files: readonly DraftFile[]): string | undefined {
  const first = files[0]?.path ?? '';
  const folder = first.slice(0, first.indexOf('/') + 1);
  return folder && files.every(({ path }) => path.startsWith(folder) && path.length > folder.length)
    ? folder
    : undefined;
}

function AddButtons() {
  const forgetChosen = useRef<() => void>(null);
  const addChosen = (chosen: File[]) => {
    void addToDraft(chosen.map((file) => ({ path: file.name, file })));
    // Resets the input, so that a file can be chosen again after it was removed.
    forgetChosen.current?.();
  };
  return (
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
}

function FolderButton() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="Top folder"
        {...{ webkitdirectory: '' }}
        onChange={(event) => {
          void addToDraft(readChosen(event.currentTarget.files));
          event.currentTarget.value = '';
        }}
      />
      <Button
        variant="default"
        leftSection={<IconFolderPlus size={17} aria-hidden />}
        onClick={() => input.current?.click()}
      >
        Add folder
      </Button>
    </>
  );
}
