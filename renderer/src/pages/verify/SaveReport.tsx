import { Button } from '@mantine/core';
import { saveFile } from '../../api/saveFile.ts';
import { REPORT_TYPES, type ReportFormat, type ReportSubject, reportText } from './report.ts';
import classes from './VerifyPage.module.css';

/** Buttons that save a report of the verification in each format. */
export function SaveReport(subject: Omit<ReportSubject, 'at'>) {
  return (
    <span className={classes.save}>
      <span className="muted small">Save report</span>
      {(['txt', 'csv', 'json'] as const).map((format) => (
        <Button key={format} size="compact-sm" variant="default" onClick={() => saveReport(subject, format)}>
          {format === 'txt' ? 'Text' : format.toUpperCase()}
        </Button>
      ))}
    </span>
  );
}

function saveReport(subject: Omit<ReportSubject, 'at'>, format: ReportFormat): void {
  const at = new Date().toISOString();
  saveFile(
    `verification-${at.slice(0, 10)}.${format}`,
    reportText(format, { ...subject, at }),
    REPORT_TYPES[format],
  );
}
