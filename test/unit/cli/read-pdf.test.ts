import { deflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readPdf } from '../../../cli/read-pdf.ts'
import { pdfOf, twoPages } from '../../fakes/pdf.ts'

/** One page with these objects behind the first three, the fourth of which is its contents. */
function pdfWith(page: string, objects: readonly (readonly [about: string, stream: Uint8Array])[]) {
  const all = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from('<< /Type /Pages /Kids [3 0 R] /Count 1 >>'),
    Buffer.from(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] ${page} >>`),
    ...objects.map(([about, stream]) =>
      Buffer.concat([
        Buffer.from(`<< ${about} /Length ${stream.length} >>\nstream\n`),
        stream,
        Buffer.from('\nendstream'),
      ]),
    ),
  ]
  const parts = [Buffer.from('%PDF-1.4\n')]
  const offsets: number[] = []
  let size = parts[0]!.length
  for (const [at, object] of all.entries()) {
    offsets.push(size)
    const whole = Buffer.concat([
      Buffer.from(`${at + 1} 0 obj\n`),
      object,
      Buffer.from('\nendobj\n'),
    ])
    parts.push(whole)
    size += whole.length
  }
  const rows = offsets.map((one) => `${String(one).padStart(10, '0')} 00000 n \n`).join('')
  const count = all.length + 1
  const tail = `xref\n0 ${count}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${size}\n%%EOF\n`
  return Buffer.concat([...parts, Buffer.from(tail)])
}

const mib = 1024 * 1024
const blanks = Buffer.alloc(300 * mib, 0x20)
const packed = deflateSync(blanks)
/** `RunLengthDecode`: 128 times the next character. */
const runs = deflateSync(Buffer.alloc(5 * mib, Buffer.from([0x81, 0x20])))
const flate = '/Filter /FlateDecode'
const use = Buffer.from('BT /F1 9 Tf (A) Tj ET /X Do')

describe('B 10: a PDF of 1 MB took 2.3 GB', () => {
  it.each([
    ['blanks, packed', pdfWith('/Contents 4 0 R', [[flate, packed]])],
    [
      'packed twice',
      pdfWith('/Contents 4 0 R', [['/Filter [/FlateDecode /FlateDecode]', deflateSync(packed)]]),
    ],
    [
      'runs, packed',
      pdfWith('/Contents 4 0 R', [['/Filter [/FlateDecode /RunLengthDecode]', runs]]),
    ],
    [
      'a form that the page draws',
      pdfWith('/Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >>', [
        ['', use],
        [`/Type /XObject /Subtype /Form /BBox [0 0 9 9] ${flate}`, packed],
      ]),
    ],
    [
      'contents in many pieces',
      pdfWith(`/Contents [${'4 0 R '.repeat(40)}]`, [
        [flate, deflateSync(blanks.subarray(0, 30 * mib))],
      ]),
    ],
  ])('is stopped at its limit, in words that name it: %s', async (_name, pdf) => {
    expect(pdf.length).toBeLessThan(2 * mib)
    await expect(readPdf(pdf, { memoryMb: 250 })).rejects.toThrow(
      'The PDF cannot be read: it takes more than 250 MiB of memory to read.',
    )
  })

  it('a PDF that takes too long is stopped, and the error names the limit', async () => {
    await expect(readPdf(twoPages, { timeoutMs: 1 })).rejects.toThrow(
      'it takes more than 0.001 seconds',
    )
  })

  it('small PDFs are read as before, and several beside each other', async () => {
    const many = pdfOf(Array.from({ length: 40 }, (_one, at) => `Page ${at}`))
    const [few, read] = await Promise.all([readPdf(twoPages), readPdf(many)])
    expect(few).toEqual(['The first page', 'The second page'])
    expect(read).toHaveLength(40)
  })

  it.each(['%PDF-1.7 nothing of one', '', 'no PDF'])('%j is none', async (text) => {
    await expect(readPdf(Buffer.from(text))).rejects.toThrow('The PDF cannot be read')
  })
})
