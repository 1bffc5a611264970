import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'

it('the journal floor of the benchmark writes the rows it promises, and ends a run after a kill', async () => {
  const { error, output } = await new Promise<{ error: Error | null; output: string }>(
    (resolve) => {
      execFile(process.execPath, ['bench/floors/check.mjs'], (failed, stdout, stderr) =>
        resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
      )
    },
  )
  expect(output).toContain('rows 4 2 12 8, promised 4 2 12 8')
  expect(output.split('\n').at(-1), output).toBe('floors hold')
  expect(error).toBeNull()
})
