import { describe, expect, it } from 'vitest'
import { createRedactor } from '../../../src/features/record/redactor.ts'

const secret = 'sk-a/b+c "quoted" é'

describe('the redactor', () => {
  it('T4, I28: takes a secret out as it is, in JSON, in an address and in base64', () => {
    const redact = createRedactor([secret, undefined, ''])
    const base64 = Buffer.from(secret).toString('base64')
    const forms = [secret, JSON.stringify(secret), encodeURIComponent(secret), base64]
    for (const form of forms) {
      const text = redact(`before ${form} after`)
      expect(text).toContain('[redacted]')
      expect(text).not.toContain(form)
    }
  })

  it('takes out the longer of two of which one is part of the other', () => {
    const redact = createRedactor(['secret-value', 'secret-value-and-more'])
    expect(redact('secret-value-and-more')).toBe('[redacted]')
  })

  it('takes out every key of this deployment, without knowing its value', () => {
    const redact = createRedactor([])
    expect(redact('isk_0123456789abcdefABCDEF is wrong')).toBe('[redacted] is wrong')
  })

  it('leaves words alone that are no secret', () => {
    expect(createRedactor(['ollama', ' '])('ollama answers')).toBe('ollama answers')
  })
})
