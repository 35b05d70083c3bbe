"""``python -m nczarr`` is the program ``ncz``."""
from ._tool import main

if __name__ == "__main__":
    main()
