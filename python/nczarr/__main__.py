"""``python -m nczarr`` is the program ``ncz``."""
from ._tool import main

main()
