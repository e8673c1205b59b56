import { Button, FileButton } from '@mantine/core';
import { IconCopy, IconFilePlus, IconFolderPlus } from '@tabler/icons-react';
import { useRef } from 'react';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { IconButton } from '../../../components/forms/buttons.tsx';
import { readChosen } from '../../../droppedFiles.ts';
import { countOf, formatBytes } from '../../../format.ts';
import classes from '../assemble.module.css';
import { bytesOf } from '../draftRecord.ts';
import { addToDraft, removeFiles, renameFiles, reuseFiles, useDraft } from '../draftStore.ts';
import { usePackForm } from '../packForm.ts';
import { FormSection } from '../sections/ResultsSection.tsx';
import { DraftFileTree } from './DraftFileTree.tsx';
import type { DraftFile } from './draftFile.ts';
import { isReusable, usePreviousFiles } from './nodeFiles.ts';

/** The files of the pack: add, rename and remove. */
export function FilesSection() {
  const { draft, errorOf } = usePackForm();
  const files = useDraft((state) => state.files);
  const previous = useDraft((state) => state.previous);
  const untouched = useDraft((state) => state.untouched);
  const note = useDraft((state) => state.note);
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
        <div className="dropzone stack gap-4">
          <p className="serif large">Drop files and folders anywhere in this window</p>
          <AddButtons />
        </div>
      )}
      {(files.length > 0 || previous.length > 0) && <DraftFileTree />}
      <div className={`${classes.more} cluster gap-2 stretch`}>
        {draft.supersedes && <ReuseFiles error={previousError} />}
        {untouched.length > 0 && (
          <Button variant="default" onClick={() => removeFiles(untouched)}>
            Remove {countOf(untouched.length, 'file')} that the dropped folder does not have
          </Button>
        )}
        {folder && (
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => renameFiles(new Map(files.map(({ id, path }) => [id, path.slice(folder.length)])))}
          >
            Remove the top folder {folder}
          </Button>
        )}
        {files.length > 1 && (
          <Button variant="subtle" size="compact-sm" onClick={() => removeFiles(files.map(({ id }) => id))}>
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
    <div className="cluster gap-2 stretch">
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

/** Offers to reuse the files of the previous version that the draft does not have. */
function ReuseFiles({ error }: { error: unknown }) {
  const files = useDraft((state) => state.files);
  const previous = useDraft((state) => state.previous);
  if (error) return <ErrorNote error={error} />;
  const have = new Set(files.map(({ path }) => path));
  const missing = previous.filter(({ path }) => !have.has(path));
  const reusable = missing.filter(isReusable);
  const others = missing.length - reusable.length;
  return (
    <>
      {reusable.length > 0 && (
        <IconButton icon={IconCopy} onClick={() => reuseFiles(reusable)}>
          Reuse {countOf(reusable.length, 'file')} from the previous version ({formatBytes(bytesOf(reusable))}
          )
        </IconButton>
      )}
      {others > 0 && (
        <p className="small muted">
          {countOf(others, 'large file')} of the previous version {others === 1 ? 'is' : 'are'} in several
          packs and cannot be reused. Add {others === 1 ? 'it' : 'them'} again to keep{' '}
          {others === 1 ? 'it' : 'them'}.
        </p>
      )}
    </>
  );
}
