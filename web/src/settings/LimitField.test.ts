// @vitest-environment happy-dom
import { mount } from '@vue/test-utils'
import { describe, expect, it } from 'vitest'
import LimitField from './LimitField.vue'

describe('a limit that is being typed', () => {
  it('stays as it was typed when the settings come once more', async () => {
    const field = mount(LimitField, { props: { value: 50, most: 50 } })
    const input = field.get('input')
    input.element.value = '4'
    await input.trigger('input')
    await field.setProps({ value: 16 })
    expect(input.element.value).toBe('4')
    await input.trigger('change')
    expect(field.emitted('change')).toEqual([[4]])
  })
  it('goes back to what is stored when it is no limit', async () => {
    const field = mount(LimitField, { props: { value: 50, most: 50 } })
    for (const bad of ['', '0', '51', '2.5']) {
      await field.get('input').setValue(bad)
      await field.get('input').trigger('change')
      expect(field.get('input').element.value).toBe('50')
    }
    expect(field.emitted('change')).toBeUndefined()
  })
})
