import type { Json } from '#contracts/json.ts'
import type { Draw } from './draw.ts'

/** A fact that is put into a text: its subject, its field, its value. */
export interface Planted {
  readonly subject: string
  readonly field: string
  readonly value: string
}

/** How a tool answers: parts of some 30 to 400 characters, which make one output. */
export interface Format {
  readonly part: (draw: Draw) => Json
  readonly planted: (planted: Planted, draw: Draw) => Json
  readonly whole: (parts: readonly Json[]) => Json
}

const words =
  'account active adapter after array batch before binding branch buffer cache change check client clock commit config count cursor daily delay delta deploy device draft entry error event export field file filter flag fleet frame gateway group handle header host import index input invoice item job key label layer ledger length limit line link list load lock log map mark merge meter mode module node note number offer order owner packet page parser part patch path period plan pool port price probe proxy queue range rate record region report request result retry route row sample scale schema score section segment sensor session shard signal slot source space stage state step store stream sum table tag target task team test thread token total trace unit update user value vendor version view volume wait watch window worker zone'.split(
    ' ',
  )
const word = (draw: Draw) => draw.pick(words)
export const someWords = (draw: Draw, count: number): string =>
  Array.from({ length: count }, () => word(draw)).join(' ')
const name = (draw: Draw) => `${word(draw)}_${word(draw)}`
const time = (draw: Draw) =>
  `2027-0${draw.int(1, 9)}-${draw.int(10, 28)}T${draw.int(10, 23)}:${draw.int(10, 59)}:${draw.int(10, 59)}.${draw.digits(3)}Z`
const lines = (parts: readonly Json[]): Json => parts.join('\n')

const code: Format = {
  part(draw) {
    const [a, b] = [name(draw), name(draw)]
    return draw.pick([
      `export async function ${a}(${b}: ${word(draw)}[], limit = ${draw.int(2, 900)}) {\n  return ${b}.slice(0, limit).map((one) => one.${word(draw)})\n}`,
      `  const ${a} = await ${b}(${word(draw)}, { ${word(draw)}: ${draw.int(1, 99)} })`,
      `  if (${a} !== "${b}") throw new Error('${someWords(draw, 5)}')`,
      `  // ${someWords(draw, 9)}`,
      `import { ${a} } from './${b}.ts'`,
      `\treturn \`C:\\\\${a}\\\\\${${b}}\``,
    ])
  },
  planted: ({ subject, field, value }) => `  // ${subject} (${field})\n  const pinned = "${value}"`,
  whole: lines,
}

const log: Format = {
  part: (draw) =>
    `${time(draw)} ${draw.pick(['INFO ', 'DEBUG', 'WARN ', 'ERROR'])} [${name(draw)}-${draw.int(1, 64)}] ${someWords(draw, draw.int(4, 12))} took=${draw.int(1, 9_000)}ms trace=${draw.hex(16)}`,
  planted: ({ subject, field, value }, draw) =>
    `${time(draw)} INFO  [${name(draw)}-7] ${subject}: ${field}=${value}`,
  whole: lines,
}

const tests: Format = {
  part: (draw) =>
    draw.chance(0.85)
      ? ` ✓ ${word(draw)}/${name(draw)}.test.ts > ${someWords(draw, 7)} ${draw.int(1, 900)}ms`
      : ` ✗ ${word(draw)}/${name(draw)}.test.ts > ${someWords(draw, 6)}\n   AssertionError: expected ${draw.int(1, 99)} to be ${draw.int(1, 99)}\n    at ${name(draw)} (src/${word(draw)}.ts:${draw.int(1, 400)}:${draw.int(1, 80)})`,
  planted: ({ subject, field, value }) => ` ! ${subject} > ${field} ${value}`,
  whole: lines,
}

const stack: Format = {
  part: (draw) =>
    draw.chance(0.1)
      ? `Caused by: com.${word(draw)}.${word(draw)}Exception: ${someWords(draw, 8)}`
      : `\tat com.${word(draw)}.${name(draw)}.${word(draw)}(${name(draw)}.java:${draw.int(10, 2_000)})`,
  planted: ({ subject, field, value }) =>
    `Caused by: java.lang.IllegalStateException: ${subject}: ${field} ${value}`,
  whole: lines,
}

const records: Format = {
  part: (draw) => ({
    id: draw.hex(24),
    name: someWords(draw, 2),
    status: word(draw),
    amounts: [draw.int(1, 9_999), draw.int(1, 9_999) / 100],
    meta: {
      owner: `${word(draw)}@example.com`,
      note: someWords(draw, draw.int(3, 14)),
      at: time(draw),
    },
  }),
  planted: ({ subject, field, value }) => ({ name: subject, [field]: value, status: 'open' }),
  whole: (parts) => ({ items: parts, total: parts.length, next: null }),
}

const csv: Format = {
  part: (draw) =>
    `${draw.int(1, 99_999)},${name(draw)},"${someWords(draw, 3)}",${draw.int(1, 99_999) / 100},${draw.chance(0.1) ? '' : word(draw)},${time(draw)}`,
  planted: ({ subject, field, value }, draw) =>
    `${draw.int(1, 99_999)},"${subject}",${field},"${value}",1,${time(draw)}`,
  whole: (parts) => `id,name,note,amount,class,at\n${parts.join('\n')}`,
}

const html: Format = {
  part: (draw) =>
    draw.pick([
      `<p class="${word(draw)}">${someWords(draw, draw.int(15, 45))}.</p>`,
      `<li><a href="https://${word(draw)}.example/${name(draw)}?ref=${draw.slug(8)}">${someWords(draw, 4)}</a></li>`,
      `<tr><td>${word(draw)}</td><td>${draw.int(1, 9_999)}</td><td>${word(draw)}&nbsp;&amp;&nbsp;${word(draw)}</td></tr>`,
    ]),
  planted: ({ subject, field, value }) =>
    `<dl><dt>${subject}</dt><dd>${field}: <code>${value}</code></dd></dl>`,
  whole: (parts) => `<!doctype html>\n<html><body>\n${parts.join('\n')}\n</body></html>`,
}

const page: Format = {
  part: (draw) =>
    draw.chance(0.15)
      ? `\n## ${someWords(draw, 4)}\n`
      : `${someWords(draw, draw.int(25, 60))}. ${someWords(draw, 20)} — “${someWords(draw, 6)}” 🛰️ (${draw.int(1990, 2027)}).`,
  planted: ({ subject, field, value }, draw) =>
    `${someWords(draw, 12)}. Of ${subject}, the ${field} is ${value}; ${someWords(draw, 14)}.`,
  whole: lines,
}

const clauses: Format = {
  part: (draw) =>
    `§ ${draw.int(1, 40)}.${draw.int(1, 12)} The ${word(draw)} shall, without prejudice to § ${draw.int(1, 40)}, ${someWords(draw, draw.int(20, 50))}; save where ${someWords(draw, 8)}.`,
  planted: ({ subject, field, value }, draw) =>
    `§ ${draw.int(41, 99)} For the purposes of “${subject}” the ${field} means ${value}.`,
  whole: lines,
}

const table: Format = {
  part: (draw) => [draw.int(1, 9_999_999), name(draw), draw.int(1, 99_999) / 100, word(draw), null],
  planted: ({ subject, field, value }, draw) => [
    draw.int(1, 9_999_999),
    subject,
    field,
    value,
    null,
  ],
  whole: (parts) => ({ columns: ['id', 'name', 'amount', 'class', 'note'], rows: parts }),
}

const states: Format = {
  part: (draw) => ({
    entity_id: `${word(draw)}.${name(draw)}`,
    state: draw.chance(0.5) ? 'on' : String(draw.int(1, 300) / 10),
    attributes: { unit: '°C', friendly_name: someWords(draw, 2), last_changed: time(draw) },
  }),
  planted: ({ subject, field, value }) => ({
    friendly_name: subject,
    [field]: value,
    state: 'off',
  }),
  whole: (parts) => parts,
}

const diff: Format = {
  part: (draw) =>
    draw.chance(0.1)
      ? `@@ -${draw.int(1, 400)},7 +${draw.int(1, 400)},9 @@ ${name(draw)}`
      : `${draw.pick(['+', '-', ' ', ' '])}  ${name(draw)}(${word(draw)}, ${draw.int(1, 99)}) // ${someWords(draw, 5)}`,
  planted: ({ subject, field, value }) => `+  // ${subject} ${field}: ${value}`,
  whole: lines,
}

export const formats = {
  code,
  log,
  tests,
  stack,
  records,
  csv,
  html,
  page,
  clauses,
  table,
  states,
  diff,
}
