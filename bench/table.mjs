/** Samples of the workloads to the rows of the result, and the rows to text. */
import { median, pairedRatio } from './statistics.mjs';
import { isMet } from './targets.mjs';

/** One row per metric; `samples` holds a list of values for each server that ran. */
export function toRow({ name, unit, target }, samples) {
  const ours = median(samples.ours ?? []);
  const reference = samples.reference && median(samples.reference);
  const ratio = samples.reference && pairedRatio(samples.ours ?? [], samples.reference);
  const met = isMet(target, { ours, ratio });
  return { name, unit, ours, reference, ratio, target: target?.text, isMet: met, samples };
}

/** Columns as wide as their content; the reference's only where it ran. */
export function toTable(rows) {
  const hasReference = rows.some((row) => row.reference !== undefined);
  const columns = [
    { title: 'metric', value: (row) => `${row.name} [${row.unit}]`, pad: 'padEnd' },
    { title: 'ours', value: (row) => toText(row.ours), pad: 'padStart' },
    ...(hasReference ? referenceColumns : []),
    ...(rows.some(isJudged) ? targetColumns : []),
  ];
  const widths = columns.map(({ title, value }) => Math.max(title.length, ...rows.map((row) => value(row).length)));
  const toLine = (cells) => `| ${cells.map((cell, at) => cell[columns[at].pad](widths[at])).join(' | ')} |`;
  return [
    toLine(columns.map(({ title }) => title)),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...rows.map((row) => toLine(columns.map(({ value }) => value(row)))),
  ].join('\n');
}

const referenceColumns = [
  { title: 'reference', value: (row) => toText(row.reference), pad: 'padStart' },
  { title: 'ratio', value: (row) => toText(row.ratio), pad: 'padStart' },
];

const isJudged = (row) => row.isMet !== undefined;
const targetColumns = [
  { title: 'target', value: (row) => row.target ?? '', pad: 'padEnd' },
  { title: 'met', value: (row) => (isJudged(row) ? (row.isMet ? 'yes' : 'NO') : ''), pad: 'padEnd' },
];

function toText(value) {
  if (value === undefined || !Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}
