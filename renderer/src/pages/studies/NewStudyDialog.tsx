import { Radio, Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { zod4Resolver } from 'mantine-form-zod-resolver';
import { useNavigate } from 'react-router';
import { newStudySchema } from '../../../../shared/archive/study.ts';
import { call } from '../../api/client.ts';
import { fieldErrors } from '../../api/fieldErrors.ts';
import { callKey } from '../../api/useCall.ts';
import { DialogForm } from '../../components/forms/DialogForm.tsx';
import { FormDialog, type FormDialogControls } from '../../components/forms/FormDialog.tsx';
import { SubjectPicker } from '../../components/forms/pickers/SubjectPicker.tsx';

export interface NewStudyDialogProps {
  opened: boolean;
  onClose: () => void;
  /** The path of the study's subject, if the page knows it. */
  node?: string;
}

/** Creates a study and opens its page. */
export function NewStudyDialog({ opened, onClose, node }: NewStudyDialogProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="New study" size="lg">
      {(controls) => <NewStudyForm node={node} {...controls} />}
    </FormDialog>
  );
}

function NewStudyForm({ node, onDone, ...controls }: Pick<NewStudyDialogProps, 'node'> & FormDialogControls) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<{
    title: string;
    question: string;
    description: string;
    node: string | null;
    status: 'planned' | 'running';
  }>({
    initialValues: { title: '', question: '', description: '', node: node ?? null, status: 'planned' },
    validate: zod4Resolver(newStudySchema),
  });
  const create = useMutation({
    mutationFn: (values: typeof form.values) => call('createStudy', { body: values }),
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: async (study) => {
      await queries.invalidateQueries({ queryKey: callKey('listStudies') });
      onDone();
      await navigate(`/studies/${study.id}`);
    },
  });
  return (
    <DialogForm form={form} controls={controls} save={create} submit="Create study">
      <TextInput label="Title" data-autofocus {...form.getInputProps('title')} />
      <Textarea
        label="Question"
        description="The one question that the packs of this study help to answer."
        autosize
        minRows={2}
        maxRows={6}
        {...form.getInputProps('question')}
      />
      <Textarea
        label="Description"
        description="Protocol, registration, participants and anything else about the study. Markdown is supported."
        autosize
        minRows={3}
        maxRows={14}
        {...form.getInputProps('description')}
      />
      <SubjectPicker
        label="Subject"
        description="What the study is filed under. Optional."
        value={form.values.node}
        onChange={(path) => form.setFieldValue('node', path)}
        error={form.errors.node}
      />
      <Radio.Group label="Status" {...form.getInputProps('status')}>
        <Stack gap="xs" mt="xs">
          <Radio value="planned" label="planned: not started" />
          <Radio value="running" label="running: in progress" />
        </Stack>
      </Radio.Group>
    </DialogForm>
  );
}
