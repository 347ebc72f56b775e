// A test program without tests, whose precompiled header the others use: see tests/CMakeLists.txt.

int main() { return 0; }
