import vue from 'eslint-plugin-vue'
import tseslint from 'typescript-eslint'

const noFetch = {
  name: 'fetch',
  message: 'Calls to the server go through src/api.',
}

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'test-results', 'playwright-report', 'src/api/schema.d.ts', 'public'] },
  ...tseslint.configs.strict,
  ...vue.configs['flat/recommended'],
  {
    files: ['**/*.vue'],
    languageOptions: { parserOptions: { parser: tseslint.parser } },
  },
  {
    rules: {
      'no-restricted-globals': ['error', noFetch],
      'no-restricted-imports': ['error', {
        patterns: [{ group: ['@vue-flow/*'], message: 'Only src/canvas knows the canvas library.' }],
        paths: [{ name: 'naive-ui', importNames: ['default'], message: 'Import Naive components by name.' }],
      }],
      'no-restricted-properties': ['error', ...['parse', 'stringify'].map(property => ({ object: 'JSON', property, message: 'Large integers would be rounded or refused: src/api/json.ts.' }))],
      'no-console': 'error',
      'eqeqeq': 'error',
      'prefer-const': 'error',
      'vue/block-lang': ['error', { script: { lang: 'ts' } }],
      'vue/component-api-style': ['error', ['script-setup']],
      'vue/define-props-declaration': ['error', 'type-based'],
      'vue/define-emits-declaration': ['error', 'type-based'],
      'vue/no-v-html': 'error',
      // Layout of templates is left to the hand that writes them.
      'vue/max-attributes-per-line': 'off',
      'vue/singleline-html-element-content-newline': 'off',
      'vue/multiline-html-element-content-newline': 'off',
      'vue/first-attribute-linebreak': 'off',
      'vue/html-closing-bracket-newline': 'off',
      'vue/html-indent': 'off',
      'vue/html-self-closing': ['error', { html: { void: 'any', normal: 'any', component: 'always' }, svg: 'any' }],
      'vue/require-default-prop': 'off',
      'vue/attributes-order': 'off',
    },
  },
  { files: ['src/canvas/**', 'e2e/bare/**'], rules: { 'no-restricted-imports': 'off' } },
  { files: ['src/api/**', 'tests/**', 'e2e/**', 'scripts/**'], rules: { 'no-restricted-globals': 'off' } },
  { files: ['src/api/json.ts', '**/*.test.ts', 'src/**/recorded.ts', 'tests/**', 'e2e/**', 'scripts/**'], rules: { 'no-restricted-properties': 'off' } },
  { files: ['scripts/**', 'e2e/**'], rules: { 'no-console': 'off' } },
)
