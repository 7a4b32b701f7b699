/**
 * Prints the contract as docs/protocol.md and docs/protocol.schema.json. Pure: the script that calls it writes the
 * files, and a test compares them, so that neither can go stale.
 */
import { execToClient, execToServer } from './exec/contract.ts';
import { toJsonSchema } from './json-schema.ts';
import { type Member, type Shape, shapeOf } from './shape.ts';
import type { Row, Table } from './table.ts';

/** File name in docs/ to content. */
export function printProtocol(): Record<string, string> {
  const title = 'farhand exec protocol';
  return {
    'protocol.md': printReference(),
    'protocol.schema.json': `${JSON.stringify(toJsonSchema(title, [execToServer, execToClient]), null, 2)}\n`,
  };
}

const INTRODUCTION = `# Protocol reference

Printed from the contract by \`npm run docs\`; edit the contract instead.

Messages are JSON-RPC 2.0 without the \`jsonrpc\` member. Members stand in wire order, and members that are not listed
are ignored. Params may also be written as an array of all members in that order, extensions left out. *Base64* is
the standard alphabet with padding; a *file URI* names a path; *u64* is an integer from 0 to 2^64−1. A member that
is optional may be absent; where the type says so, it may be null too.

What is marked *extension* is not in the reference protocol. Servers announce what they have beyond it in
\`environmentInfo.extensions\`.

*Lane*: \`inline\` is answered before the next message is looked at, \`ordinary\` requests of one connection run in
order, \`control\` requests are not held up by ordinary ones. *Family* is how errors of the handshake name the method.
`;

function printReference(): string {
  const objects = new Map<string, Shape>();
  const toServer = printTable(execToServer, objects);
  const toClient = printTable(execToClient, objects);
  const printed = [...objects]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, shape]) => printObject(name, shape));
  return [
    INTRODUCTION,
    '## From client to server\n',
    ...toServer,
    '## From server to client\n',
    ...toClient,
    '## Objects\n',
    ...printed,
  ].join('\n');
}

/** One section a method; named objects met on the way are put into `objects`. */
function printTable(table: Table, objects: Map<string, Shape>): string[] {
  return Object.entries(table).map(([method, row]) =>
    [
      `### ${method}\n`,
      `${row.summary}\n`,
      `${traits(row).join(' · ')}\n`,
      `Params:${printTop(row.params, objects)}`,
      ...(row.result === undefined ? [] : [`Result:${printTop(row.result, objects)}`]),
    ].join('\n'),
  );
}

function traits({ result, lane, family, since }: Row): string[] {
  return [
    result === undefined ? 'notification' : 'request',
    since,
    ...(lane === undefined ? [] : [`lane \`${lane}\``]),
    ...(family === undefined ? [] : [`family \`${family}\``]),
  ];
}

/** Params and results are printed in place unless they are an object with a name of its own. */
function printTop(schema: Row['params'], objects: Map<string, Shape>): string {
  const shape = shapeOf(schema, '');
  if (shape.type !== 'struct' || shape.name !== '') {
    collect(shape, objects);
    return ` ${typeText(shape)}.\n`;
  }
  for (const member of shape.members) collect(member.shape, objects);
  return shape.members.length === 0 ? ' an empty object.\n' : `\n\n${printMembers(shape.members)}`;
}

function printObject(name: string, shape: Shape): string {
  if (shape.type === 'struct') return `### ${name}\n\n${printMembers(shape.members)}`;
  if (shape.type !== 'tagged') return '';
  const variants = [...shape.variants].map(([variant, members]) => {
    const line = `With \`${shape.tag}\` \`"${variant}"\``;
    return members.length === 0 ? `${line}: nothing more.\n` : `${line}:\n\n${printMembers(members)}`;
  });
  return [`### ${name}\n`, ...variants].join('\n');
}

function printMembers(members: readonly Member[]): string {
  const rows = members.map(({ name, shape, presence, otherwise, isExtension, note = '' }) => {
    const need = presence === 'defaulted' ? `default \`${JSON.stringify(otherwise)}\`` : presence;
    return [`\`${name}\``, typeText(shape), need, `${isExtension ? '*Extension.* ' : ''}${note}`];
  });
  const lines = [['member', 'type', 'presence', 'notes'], ['---', '---', '---', '---'], ...rows];
  return `${lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')}\n`;
}

function typeText(shape: Shape): string {
  switch (shape.type) {
    case 'any':
      return 'any value';
    case 'unit':
      return 'none';
    case 'value':
      return shape.label;
    case 'choice':
      return shape.values.map((value) => `\`"${value}"\``).join(', ');
    case 'list':
      return `list of ${typeText(shape.item)}`;
    case 'map':
      return `map to ${typeText(shape.value)}`;
    case 'nullable':
      return `${typeText(shape.inner)}, or null`;
    case 'struct':
    case 'tagged':
      return `[${shape.name}](#${shape.name.toLowerCase()})`;
  }
}

/** Puts a shape and everything below it that has a name into `objects`. */
function collect(shape: Shape, objects: Map<string, Shape>): void {
  if (shape.type === 'struct' || shape.type === 'tagged') objects.set(shape.name, shape);
  for (const part of partsOf(shape)) collect(part, objects);
}

function partsOf(shape: Shape): Shape[] {
  switch (shape.type) {
    case 'list':
      return [shape.item];
    case 'map':
      return [shape.value];
    case 'nullable':
      return [shape.inner];
    case 'struct':
      return shape.members.map((member) => member.shape);
    case 'tagged':
      return [...shape.variants.values()].flat().map((member) => member.shape);
    default:
      return [];
  }
}
