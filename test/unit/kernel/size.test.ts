import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  countCodeLines,
  countWorkingLines,
  maxKernelFileLines,
  maxKernelLines,
  measureKernel,
} from '../../../scripts/kernel-size.mjs'

/** What a source folder of these files comes to. */
function measure(files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'isola-kernel-'))
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), source)
  }
  const measured = measureKernel(folder)
  rmSync(folder, { recursive: true })
  return measured
}

const linesOf = (count: number) => 'export const a = 1\n'.repeat(count)

/** A kernel of files with so many lines of code each. */
const kernelOf = (...sizes: readonly number[]) =>
  measure(
    Object.fromEntries(
      sizes.map((lines, at) => [`runtime/kernel/file-${at}.ts`, linesOf(lines)] as const),
    ),
  )

describe('Y30: the size of the kernel', () => {
  it('Y30: is within its budget of 1,800 lines with all that it reaches, no file over 300', () => {
    const { lines, files, problems } = measureKernel(join(import.meta.dirname, '../../../src'))
    expect([maxKernelLines, maxKernelFileLines]).toEqual([1_800, 300])
    expect(problems).toEqual([])
    expect(lines).toBe(files.reduce((sum, file) => sum + file.lines, 0))
    expect(files.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        'src/runtime/kernel/run.ts',
        'src/runtime/kernel/leases/ledger.ts',
        'src/contracts/lease.ts',
      ]),
    )
    expect(lines).toBeGreaterThan(500)
    expect(lines).toBeLessThanOrEqual(maxKernelLines)
  })

  it('Y30: a file over its share and a kernel over its budget are refused', () => {
    expect(kernelOf(300).problems).toEqual([])
    expect(kernelOf(301).problems).toEqual([expect.stringContaining('file-0.ts has 301')])
    const full = Array.from({ length: 6 }, () => 300)
    expect(kernelOf(...full).problems).toEqual([])
    expect(kernelOf(...full, 1).problems).toEqual([expect.stringContaining('1801 lines')])
  })

  it('Y30: code that the kernel reaches by import counts wherever it lies, at any distance; types do not', () => {
    const { lines, files } = measure({
      'runtime/kernel/run.ts':
        "import { a } from '#contracts/a.ts'\nimport type { Far } from '#contracts/far.ts'\n",
      'runtime/kernel/leases/ledger.ts': linesOf(10),
      'contracts/a.ts': `export { b } from '../elsewhere/b.ts'\n${linesOf(4)}`,
      'elsewhere/b.ts': linesOf(20),
      'contracts/far.ts': linesOf(100),
    })
    expect(files.map(({ path }) => path).toSorted()).toEqual([
      'src/contracts/a.ts',
      'src/elsewhere/b.ts',
      'src/runtime/kernel/leases/ledger.ts',
      'src/runtime/kernel/run.ts',
    ])
    expect(lines).toBe(1 + 10 + 5 + 20)
  })

  it('counts code, not comments, and is not taken in by strings that look like them', () => {
    expect(countCodeLines('// a\n\n/* b\n c */\nconst a = 1 // d\n')).toBe(1)
    expect(countCodeLines("const url = 'https://a' // x\nconst b = `/*`\nconst c = 2\n")).toBe(3)
  })

  it('sets types and schemas aside, and nothing that works', () => {
    const shapes = [
      "import type { A } from './a.ts'",
      "import { type B, type C } from './b.ts'",
      'export interface D {\n  readonly d: string\n}',
      'type E =\n  | 1\n  | 2',
      'export const schema = z\n  .object({ a: z.string() })\n  .strict()',
    ]
    expect(countWorkingLines(shapes.join('\n'))).toBe(0)
    const work = "import { type B, c } from './b.ts'\nexport const d = () => {\n  return c\n}\n"
    expect(countWorkingLines(`${shapes.join('\n')}\n${work}`)).toBe(4)
  })
})
