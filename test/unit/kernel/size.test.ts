import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  countCodeLines,
  maxKernelFileLines,
  maxKernelLines,
  measureKernel,
} from '../../../scripts/kernel-size.mjs'

/** A kernel of files with so many lines of code each. */
function kernelOf(...sizes: readonly number[]) {
  const folder = mkdtempSync(join(tmpdir(), 'isola-kernel-'))
  sizes.forEach((lines, index) =>
    writeFileSync(join(folder, `file-${index}.ts`), 'export const a = 1\n'.repeat(lines)),
  )
  const measured = measureKernel(folder)
  rmSync(folder, { recursive: true })
  return measured
}

describe('Y30: the size of the kernel', () => {
  it('Y30: is within its budget of 1,500 lines, no file over 300', () => {
    const { lines, files, problems } = measureKernel(
      join(import.meta.dirname, '../../../src/kernel'),
    )
    expect([maxKernelLines, maxKernelFileLines]).toEqual([1_500, 300])
    expect(problems).toEqual([])
    expect(lines).toBe(files.reduce((sum, file) => sum + file.lines, 0))
    expect(lines).toBeGreaterThan(500)
    expect(lines).toBeLessThanOrEqual(maxKernelLines)
  })

  it('Y30: a file over its share and a kernel over its budget are refused', () => {
    expect(kernelOf(300).problems).toEqual([])
    expect(kernelOf(301).problems).toEqual([expect.stringContaining('file-0.ts has 301')])
    expect(kernelOf(...Array.from({ length: 5 }, () => 300)).problems).toEqual([])
    expect(kernelOf(...Array.from({ length: 5 }, () => 300), 1).problems).toEqual([
      expect.stringContaining('1501 lines'),
    ])
  })

  it('counts code, not comments, and is not taken in by strings that look like them', () => {
    expect(countCodeLines('// a\n\n/* b\n c */\nconst a = 1 // d\n')).toBe(1)
    expect(countCodeLines("const url = 'https://a' // x\nconst b = `/*`\nconst c = 2\n")).toBe(3)
  })
})
