import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withoutProtection } from '../switches/plugin.mjs'
import { switches } from '../switches/switches.mjs'

const root = join(import.meta.dirname, '../..')

it('G16: every protection has a switch of its own', () => {
  const names = switches.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThanOrEqual(28)
  // What cannot be seen on one machine is the exception.
  expect(switches.filter(({ unseen }) => unseen !== undefined).length).toBeLessThanOrEqual(5)
})

it.each(switches.map((one) => [one.name, one] as const))(
  'G16: %s is found once where it is said to be, and is gone when it is off',
  (_name, one) => {
    const text = readFileSync(join(root, one.file), 'utf8')
    expect(withoutProtection(text, one)).not.toBe(text)
    // What runs in production, and the command that an author gives a stranger's folder to.
    expect(one.file).toMatch(/^(src|scripts\/isola)\//)
    for (const file of one.tests) {
      expect(existsSync(join(root, file)), file).toBe(true)
      expect(file.endsWith('.workers.test.ts')).toBe(one.project === 'workers')
    }
    expect(one.unseen === undefined ? one.tests.length : 1).toBeGreaterThan(0)
  },
)
