import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../fakes/cpu-ms.ts'
import { maxParts } from '../../../src/features/memory/types.ts'
import { createDocumentReader } from '../../../src/features/memory/knowledge/read-document.ts'
import { readDocument } from '../../fakes/long-term.ts'

const markdown = (text: string) => readDocument({ type: 'markdown', text })
const html = (text: string) => readDocument({ type: 'html', text })
const textsOf = async (read: ReturnType<typeof readDocument>) =>
  (await read).passages.map(({ text }) => text)
const saidIn = async (text: string) => (await textsOf(html(text))).join('\n')

describe('A 20: a mark of the encoding before a document', () => {
  const page = '---\ntitle: secret-front-matter\n---\n# Tea\n\nSteep.\n'
  test.each([
    ['none', page],
    ['before the front matter', `\uFEFF${page}`],
    ['with CRLF', `\uFEFF${page.replaceAll('\n', '\r\n')}`],
    ['with the line ends of old Macs', `\uFEFF${page.replaceAll('\n', '\r')}`],
    ['and TOML', `\uFEFF${page.replaceAll('---', '+++')}`],
    ['front matter that ends with dots', page.replace('---\n#', '...\n#')],
  ])(
    'costs neither title nor heading, and its front matter is no text: %s',
    async (_name, text) => {
      const { title, passages } = await markdown(text)
      expect(title).toBe('Tea')
      expect(passages).toEqual([{ text: 'Steep.', headings: ['Tea'], line: 6 }])
    },
  )
  test('is no character of a text, of a page or of HTML', async () => {
    expect(await textsOf(readDocument({ type: 'text', text: '\uFEFFOne' }))).toEqual(['One'])
    expect(
      await textsOf(readDocument({ type: 'pages', pages: ['\uFEFFOne', '\uFEFFTwo'] })),
    ).toEqual(['One', 'Two'])
    expect((await html('\uFEFF<title>T</title><h1>A</h1><p>b')).title).toBe('T')
  })
  test.each(['---\n\nText below a line.\n\n---\n\nMore.', '---\nNo end of it.\n'])(
    'a text that only resembles front matter stays: %j',
    async (text) => {
      expect((await textsOf(markdown(text))).join()).toMatch(/Text below a line|No end of it/)
    },
  )
})

describe('A 20: a fence within a fence', () => {
  const headingsOf = async (text: string) =>
    (await markdown(text)).passages.map(({ headings = [] }) => headings.join('/'))
  test.each([
    ['more marks around fewer', '````md\n```sh\n# no heading\n```\n# none either\n````'],
    ['waves around ticks', '~~~\n```\n# no heading\n```\n~~~'],
    ['ticks around waves', '```\n~~~\n# no heading\n~~~\n```'],
    ['a line that opens another one closes none', '```\n```js\n# no heading\n```'],
    ['waves and fewer waves', '~~~~~\n~~~\n# no heading\n~~~\n~~~~~'],
    ['in an item of a list', '- first\n\n  ```sh\n  # no heading\n\n  x\n  ```'],
    ['beside the mark of an item', '1. ```sh\n   # no heading\n   ```'],
    ['in a quote', '> ```\n> # no heading\n> ```'],
    ['one that is never closed', '```\n# no heading\n\n## none'],
    ['with CRLF', '````\r\n```\r\n# no heading\r\n```\r\n````'],
  ])('hides no heading and makes none: %s', async (_name, fence) => {
    expect(await headingsOf(`# Top\n\n${fence}`)).toEqual(['Top'])
    if (/never/.test(_name)) return
    expect(await headingsOf(`# Top\n\n${fence}\n\n# Next\n\nText`)).toEqual(['Top', 'Next'])
  })
  test.each([
    ['ticks that are code in a line', '``` x ``` is code'],
    ['moved in by four', '    ```'],
    ['two marks', '``'],
    ['a quote that ended', '> ```\n> code'],
  ])('is opened by none of this: %s', async (_name, line) => {
    expect(await headingsOf(`# Top\n\n${line}\n\n# Next\n\nText`)).toEqual(['Top', 'Next'])
  })
})

describe('A 20: headings', () => {
  test.each([
    ['# C#\n\nx', 'C#'],
    ['# F# ##\n\nx', 'F#'],
    ['#\ttab\n\nx', 'tab'],
    ['Setext\n======\n\nx', 'Setext'],
    ['Two lines\nof one\n---\n\nx', 'Two lines of one'],
    ['Setext\r\n===\r\n\r\nx', 'Setext'],
    ['   # In a little   ##   \n\nx', 'In a little'],
  ])('are read whole: %j', async (text, heading) => {
    expect((await markdown(text)).passages[0]?.headings).toEqual([heading])
  })
  test.each([
    '#hashtag\n\nx',
    '- item\n---\n\nx',
    '> quote\n===\n\nx',
    'a\n\n---\n\nx',
    '```\na\n```\n---\nx',
  ])('are made of nothing else: %j', async (text) => {
    expect((await markdown(text)).passages[0]?.headings).toBeUndefined()
  })
  test.each([
    ['<!-- # secret -->\n# Tea\n\nx', ['x']],
    ['<!--\n\n# secret\n\n-->\n# Tea\n\nx', ['x']],
    ['<!-- secret --> seen', ['seen']],
    ['<!-- never closed\n\nseen', ['<!-- never closed\n\nseen']],
    ['```\n<!-- shown -->\n```', ['```\n<!-- shown -->\n```']],
  ])('comments are no text: %j', async (text, texts) => {
    expect(await textsOf(markdown(text))).toEqual(texts)
  })
})

describe('A 21: a long table says in each passage what its columns are', () => {
  const rows = (count: number, row: (at: number) => string) =>
    Array.from({ length: count }, (_one, at) => row(at))
  const long = rows(90, (at) => `| param_${at} | integer | ${at} | What number ${at} means |`)
  const header = '| parameter | type | default | description |'
  test.each([
    ['of its own', `# S\n\n${header}\n|---|---|---|---|\n${long.join('\n')}\n`],
    ['right below a paragraph', `# S\nIntro:\n${header}\n|:--|--:|:-:|---|\n${long.join('\n')}\n`],
    ['with CRLF', `${header}\r\n|---|---|---|---|\r\n${long.join('\r\n')}`],
    [
      'between two others',
      `| a | b |\n|---|---|\n| 1 | 2 |\n\n${header}\n| - | - | - | - |\n${long.join('\n')}`,
    ],
    [
      'without pipes at its sides',
      `${header.slice(2, -2)}\n---|---|---|---\n${long.join('\n').replaceAll(/^\| | \|$/gm, '')}`,
    ],
    ['in a quote', `> ${header}\n> |---|---|---|---|\n> ${long.join('\n> ')}`],
    ['in a plain text', `${header}\n|---|---|---|---|\n${long.join('\n')}`],
  ])('%s', async (name, text) => {
    const read = name === 'in a plain text' ? readDocument({ type: 'text', text }) : markdown(text)
    const texts = (await textsOf(read)).filter((one) => /param_/.test(one))
    expect(texts.length).toBeGreaterThan(2)
    for (const one of texts) {
      expect(one).toMatch(/parameter \| type \| default \| description/)
      expect(one.match(/parameter \| type/g)).toHaveLength(1)
      expect(one.length).toBeLessThanOrEqual(2_400)
    }
    for (const row of long)
      expect(texts.filter((one) => one.includes(row.slice(2, -2)))).toHaveLength(1)
  })
  test('the lines that it cites are those of its rows', async () => {
    const { passages } = await markdown(`${header}\n|---|---|---|---|\n${long.join('\n')}`)
    const lines = ['', header, '', ...long]
    for (const { text, line } of passages.slice(1)) expect(text.split('\n')[2]).toBe(lines[line!])
  })
  test('a header that is longer than a passage is read, and repeated in part', async () => {
    const wide = `| ${'column '.repeat(400)}| b |`
    const texts = await textsOf(
      markdown(
        `${wide}\n|---|---|\n${long.map((one) => one.split(' | ').slice(0, 2).join(' | ')).join('\n')}`,
      ),
    )
    for (const one of texts) expect(one.length).toBeLessThanOrEqual(2_400)
    expect(texts.filter((one) => one.includes('| column column')).length).toBeGreaterThan(2)
  })
  const cells = (name: string, words: readonly string[]) =>
    `<tr>${words.map((word) => `<${name}>${word}</${name}>`).join('')}</tr>`
  const heads = ['Parameter', 'Type', 'Meaning']
  const body = rows(120, (at) =>
    cells('td', [`param_${at}`, 'integer', `What number ${at} means`]),
  ).join('')
  test.each([
    ['th alone', `<table>${cells('th', heads)}${body}</table>`],
    ['thead', `<table><thead>${cells('td', heads)}</thead><tbody>${body}</tbody></table>`],
    ['end tags left out', `<table><tr><th>Parameter<th>Type<th>Meaning${body}</table>`],
    [
      'paragraphs in its cells',
      `<table>${cells(
        'th',
        heads.map((one) => `<p>${one}</p>`),
      )}${body}</table>`,
    ],
    [
      'names of rows',
      `<table>${cells('th', heads)}${body.replaceAll(/<tr><td>(param_\d+)<\/td>/g, '<tr><th>$1</th>')}</table>`,
    ],
  ])('of HTML, with %s', async (_name, table) => {
    const texts = await textsOf(html(`<h1>T</h1><p>Intro</p>${table}<p>End</p>`))
    const parts = texts.filter((one) => /param_/.test(one))
    expect(parts.length).toBeGreaterThan(2)
    for (const one of parts) expect(one.match(/Parameter\s+Type\s+Meaning/g)).toHaveLength(1)
    expect(texts.join('\n')).toContain('What number 119 means')
  })
  test('a table that lays out a page keeps its blocks and headings', async () => {
    const { passages } = await html(
      '<table><tr><td><h1>A</h1><p>one</p></td><td><h1>B</h1><table><tr><th>N<tr><td>1</table></td></tr></table>',
    )
    expect(passages).toEqual([
      { text: 'one', headings: ['A'] },
      { text: 'N\n1', headings: ['B'] },
    ])
  })
  test('a header without rows is text', async () => {
    expect(await saidIn('<table><tr><th>Only<th>this</table>')).toBe('Only this')
    expect(await textsOf(markdown('| a | b |\n|---|---|'))).toEqual(['| a | b |\n|---|---|'])
  })
})

describe('A 22: characters that HTML names', () => {
  test.each([
    ['ni&ntilde;o est&aacute; Espa&ntilde;a', 'niño está España'],
    ['&Auml;rzte &auml;rzte &Eacute;cole &eacute;', 'Ärzte ärzte École é'],
    ['5 &euro; &copy; &reg; &trade; &sect;', '5 € © ® ™ §'],
    ['&Lstrok;&oacute;d&zacute; &Zcaron;i&zcaron;ek &ccaron;', 'Łódź Žižek č'],
    ['&alpha;&Omega; &iquest;Qu&eacute;? &rarr; &hearts;', 'αΩ ¿Qué? → ♥'],
    ['&#8364; &#x20AC; &#X20ac; &#128512;', '€ € € 😀'],
    ['AT&T &ampamp; &nosuch; 5 &lt; 6 &amp;lt;', 'AT&T &amp; &nosuch; 5 < 6 &lt;'],
    ['&copy 2026 &Ntilde &notit;', '© 2026 Ñ ¬it;'],
    ['&#0; &#xD800; &#x110000; &#150;', '� � � –'],
    ['a&nbsp;b&ensp;c&shy;d', 'a b c\u00ADd'],
    ['&NotEqualTilde; &fjlig;', '≂̸ fj'],
  ])('%s', async (written, read) => {
    expect(await saidIn(`<p>${written}</p>`)).toBe(read)
    expect((await html(`<title>${written}</title><p>x`)).title).toBe(read.replaceAll(/\s+/g, ' '))
  })
  test('are whole where a slice ends within one', async () => {
    for (let chars = 16_370; chars < 16_390; chars += 1) {
      const texts = await saidIn(`<p>${'a'.repeat(chars)} &Ntilde;andu <b hidden>not</b>😀 end</p>`)
      expect(texts.slice(-12)).toContain('Ñandu 😀 end')
    }
  })
})

describe('HTML that a browser does not show is not read', () => {
  test.each([
    '<p hidden>secret</p>',
    '<p hidden=until-found>secret</p>',
    '<div HIDDEN><p>secret</p><h1>secret</h1></div>',
    '<p style="display:none">secret</p>',
    '<p style="DISPLAY : NONE !important; color: red">secret</p>',
    '<p style="display:/**/none">secret</p>',
    '<span style="visibility: hidden">secret</span>',
    '<tr><td style="visibility:collapse">secret</td></tr>',
    '<div aria-hidden="true">secret</div>',
    '<div aria-hidden=TRUE>secret</div>',
    '<template><p>secret</p></template>',
    '<noscript>secret</noscript>',
    '<!-- secret -->',
    '<!-- secret --!>',
    '<![CDATA[secret]]>',
    '<?php secret ?>',
    '<span style="font-size:0">secret</span>',
    '<span style="opacity:0.0">secret</span>',
    '<div style="width:0;height:0;overflow:hidden">secret</div>',
    '<div style="height:1px;overflow:hidden">secret</div>',
    '<div style="position:absolute;left:-9999px">secret</div>',
    '<p style="text-indent:-9999px">secret</p>',
    '<p style="color:transparent">secret</p>',
    '<p style="clip-path: inset(100%)">secret</p>',
    '<p style="transform: scale(0)">secret</p>',
    '<dialog>secret</dialog>',
    '<datalist><option>secret</option></datalist>',
    '<p style="display&colon;none">secret</p>',
    '<title>t</title><svg><title>secret</title></svg>',
    '<ul><li hidden>secret<li></ul>',
  ])('%s', async (written) => {
    const page = `<p>Before.</p>${written}<p>After.</p>`
    const { title = '', passages } = await html(page)
    expect(JSON.stringify([title, passages])).not.toContain('secret')
    expect(passages.map(({ text }) => text).join()).toBe('Before.\n\nAfter.')
  })
  test.each([
    '<p style="display:block">seen</p>',
    '<p style="opacity:0.5;font-size:0.8em;width:0.5em">seen</p>',
    '<p aria-hidden="false">seen</p>',
    '<dialog open>seen</dialog>',
    '<details><summary>More</summary>seen</details>',
    '<p data-hidden class=hidden>seen</p>',
    '<ul><li hidden><p>no<li>seen</ul>',
    '<p hidden><b>no<p>seen',
    '<table><tr hidden><td>no<tr><td>seen</table>',
    '<dl><dt hidden>no<dd>seen</dl>',
    '<div hidden>no</div></div></span>seen',
    '<p>3 < 4 seen',
    '<p style="left:-9999px">seen</p>',
  ])('what it shows is: %s', async (written) => {
    const said = await saidIn(written)
    expect(said).toContain('seen')
    expect(said).not.toContain('no\n')
  })
})

describe('B 1, B 6: what a document is made of is counted', () => {
  test.each([
    ['html', '<h1>a</h1>'.repeat(190_000), /more than 20,000 elements/],
    ['html', '<br>'.repeat(maxParts + 1), /more than 20,000 elements/],
    ['html', '<p>a'.repeat(400_000), /more than 20,000 elements/],
    ['html', `${'<b>'.repeat(1_001)}x`, /nested too deep: more than 1,000 elements/],
    ['markdown', '# a\n'.repeat(400_000), /more than 20,000 blocks/],
    ['markdown', 'a\n\n'.repeat(600_000), /more than 20,000 blocks/],
    ['markdown', `| a |\n|---|\n${'|b|\n'.repeat(400_000)}`, /more than 20,000 blocks/],
    ['text', 'a\n\n'.repeat(600_000), /more than 20,000 blocks/],
  ] as const)('%s %#: too much is refused, and the limit is named', async (type, text, message) => {
    const read = readDocument({ type, text })
    await expect(read).rejects.toMatchObject({ code: 'request_invalid', param: 'text' })
    await expect(read).rejects.toThrow(message)
  })
  test('blocks of all pages count together', async () => {
    const pages = Array.from({ length: 30 }, () => 'a\n\n'.repeat(1_000))
    await expect(readDocument({ type: 'pages', pages })).rejects.toThrow(/^pages: has more than/)
  })
  test.each([
    ['markdown', `# ${'#'.repeat(1_999_000)}x`],
    ['markdown', `# ${' '.repeat(1_999_000)}x`],
    ['markdown', `${'> '.repeat(900_000)}x`],
    ['markdown', `${'- '.repeat(900_000)}x`],
    ['markdown', `${'`'.repeat(1_999_000)}x`],
    ['markdown', '<!--'.repeat(400_000)],
    ['markdown', `${'|'.repeat(900_000)}\n${'|'.repeat(900_000)}`],
    ['markdown', `---\n${'a: b\n'.repeat(300_000)}`],
    ['text', 'x'.repeat(2_000_000)],
    ['html', `<p>${'&'.repeat(1_900_000)}`],
    ['html', `<p>${'<'.repeat(1_900_000)}`],
    ['html', `x<!--${'-'.repeat(1_900_000)}`],
    ['html', `x<a ${'a '.repeat(900_000)}`],
    ['html', `${'<div>'.repeat(900)}x${'</p>'.repeat(1_000)}${'</x>'.repeat(400_000)}`],
    ['html', `<p style="${'/*'.repeat(900_000)}">x`],
  ] as const)('%s %#: a long run of a mark is read in slices', async (type, text) => {
    let pauses = 0
    const read = createDocumentReader(async () => void (pauses += 1))({ type, text })
    await read.catch((error: unknown) => expect(error).toMatchObject({ code: 'request_invalid' }))
    if (/\n/.test(text) || type === 'html') expect(pauses).toBeGreaterThan(0)
  })
})

describe('B 1: runs of every mark that a reader knows', () => {
  const marks = [
    '#',
    ' ',
    '\n',
    '`',
    '~',
    '>',
    '- ',
    '1. ',
    '|',
    '=',
    '-',
    ':',
    '<',
    '&',
    '!--',
    '"',
    '.',
    '水',
    '😀',
    'a',
  ]
  const fastest = async (type: 'markdown' | 'html' | 'text', text: string) => {
    let least = Infinity
    for (let tries = 0; tries < 3; tries += 1) {
      const startedAt = cpuMs()
      await readDocument({ type, text }).catch(() => {})
      least = Math.min(least, cpuMs() - startedAt)
    }
    return least
  }
  const of = (mark: string, chars: number) => `# ${mark.repeat(Math.floor(chars / mark.length))}x`
  test.each(['markdown', 'html', 'text'] as const)(
    '%s: 200,000 and 2,000,000 characters take at most 15 times as long',
    async (type) => {
      const slow: string[] = []
      for (const mark of marks) {
        const shortMs = await fastest(type, of(mark, 199_000))
        const longMs = await fastest(type, of(mark, 1_990_000))
        // A square of them would be minutes.
        if (longMs > Math.max(3_000, 15 * shortMs))
          slow.push(`${mark}: ${shortMs} ms, ${longMs} ms`)
      }
      expect(slow).toEqual([])
    },
  )
})
